"""Fish-Search, Shark-Search and key terms: policies that score links by the relevance of pages, anchors and contexts.

With relevance r, decay δ and the shares β, γ:
inherited(child) = δ·r(page) if r(page) > 0 else δ·inherited(page); anchor = r(anchor text and address);
context = 1 if anchor > 0 else r(context); neighbourhood = β·anchor + (1-β)·context;
score(child) = γ·inherited(child) + (1-γ)·neighbourhood. Of several links to one URL the highest score counts.
The policy data of a URL is what it inherited: four bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct as Packed

from lycosa.config.settings import PolicySettings
from lycosa.judge.priority.policy import Policy
from lycosa.judge.priority.relevance import Relevance
from lycosa.model import Link, Observation

_PACKED = Packed("<fff")
#: What a seed has inherited: somebody thought of it.
_SEED = 1.0


class SharkSearch(Policy):
    """Shark-Search: relevance is a number, and links inherit that of their page, or what the page inherited."""

    def __init__(self, relevance: Relevance, settings: PolicySettings) -> None:
        self._relevance = relevance
        self._decay, self._beta, self._gamma = settings.decay, settings.beta, settings.gamma
        self.inheritance = 0.0  # what the links of the page inherit

    def begin_answer(self, observation: Observation) -> None:
        relevance = 1.0 if observation.quarry_kind else observation.relevance
        inherited = relevance if relevance > 0 else self._inherited(observation.policy_data)
        self.inheritance = self._decay * inherited

    def _inherited(self, policy_data: bytes) -> float:
        return _PACKED.unpack_from(policy_data)[0] if len(policy_data) >= _PACKED.size else _SEED

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor, around = self._relevance.link(link.text, url, context)
        return max(self.combine(anchor, around), prior), _PACKED.pack(self.inheritance, anchor, around)

    def combine(self, anchor: float, around: float) -> float:
        """The score of a link, by the relevance of its anchor and of its context."""
        neighbourhood = self._beta * anchor + (1 - self._beta) * around
        return self._gamma * self.inheritance + (1 - self._gamma) * neighbourhood

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        if len(policy_data) < _PACKED.size:
            return {}
        inheritance, anchor, around = _PACKED.unpack_from(policy_data)
        rest = 1 - self._gamma
        return {
            "inherited": self._gamma * inheritance,
            "anchor": rest * self._beta * anchor,
            "context": rest * (1 - self._beta) * around,
        }


class FishSearch(SharkSearch):
    """Fish-Search: relevance is yes or no, and a page's children inherit it until it has worn off."""

    def begin_answer(self, observation: Observation) -> None:
        relevant = bool(observation.quarry_kind) or observation.relevance >= 0.5
        inherited = 1.0 if relevant else self._inherited(observation.policy_data)
        self.inheritance = self._decay * inherited

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor = float(self._relevance.short(link.text) > 0 or self._relevance.url(url) > 0)
        value = self._gamma * self.inheritance + (1 - self._gamma) * anchor
        return max(value, prior), _PACKED.pack(self.inheritance, anchor, 0.0)

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        if len(policy_data) < _PACKED.size:
            return {}
        inheritance, anchor, _ = _PACKED.unpack_from(policy_data)
        return {"inherited": self._gamma * inheritance, "anchor": (1 - self._gamma) * anchor}


class KeyTermsPolicy(Policy):
    """Key terms in anchor and address alone."""

    def __init__(self, relevance: Relevance, settings: PolicySettings) -> None:
        self._relevance = relevance

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor, address = self._relevance.short(link.text), self._relevance.url(url)
        return max(1 - (1 - anchor) * (1 - address), prior), _PACKED.pack(anchor, address, 0.0)

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        if len(policy_data) < _PACKED.size:
            return {}
        anchor, address, _ = _PACKED.unpack_from(policy_data)
        return {"anchor": anchor, "address": address * (1 - anchor)}
