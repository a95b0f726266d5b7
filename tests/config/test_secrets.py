"""A secret is used on purpose or not at all."""

from __future__ import annotations

import pickle

import attrs
import pytest

from config.secrets import Secret


def test_a_secret_shows_only_stars() -> None:
    secret = Secret("hunter2")
    texts = (str(secret), repr(secret), f"{secret}", f"{secret:>8}", repr([secret]))
    assert not any("hunter2" in text for text in texts)
    assert str(secret) == "***"
    assert secret.reveal() == "hunter2"


def test_a_secret_inside_a_config_shows_only_stars() -> None:
    @attrs.frozen
    class Account:
        token: Secret

    assert repr(Account(Secret("hunter2"))).endswith("Account(token=***)")


def test_secrets_are_equal_by_value_so_that_a_reload_sees_a_change() -> None:
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


def test_a_secret_cannot_be_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("a"))
