"""Delivery of messages by mail and webhook: each is queued once, tried until it arrives or is refused for good."""

from lycosa.missions.records.delivery.message import Delivery, MailSettings, Message, WebhookSettings
from lycosa.missions.records.delivery.outbox import DeliveryReport, Outbox, QueuedMessage

__all__ = ["Delivery", "DeliveryReport", "MailSettings", "Message", "Outbox", "QueuedMessage", "WebhookSettings"]
