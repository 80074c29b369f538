"""Derived data: databases beside a collection that hold nothing but what can be made from it again."""
