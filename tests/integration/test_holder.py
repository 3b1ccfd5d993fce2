"""Two processes and one data directory."""

import os
import signal

import pytest
from conftest import DONE, FAILED


@pytest.fixture
def holder(orders):
    """A process that holds the directory: an append, stopped after staging."""
    process = orders.start("append", "s.orders", "orders.csv", failpoints="after-stage=pause")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("arguments", [["append", "s.orders", "orders.csv"], ["status"], ["sql", "select 1"]])
def test_the_second_names_the_first_when_its_wait_is_over(orders, holder, arguments):
    message = orders.must_fail(FAILED, *arguments, "--wait", "1")
    assert "lake append" in message and str(holder.pid) in message
    assert str(orders.data_dir) in message


def test_the_second_goes_on_when_the_first_has_ended(orders, holder):
    second = orders.start("append", "s.orders", "orders.csv", "--wait", "100")
    holder.send_signal(signal.SIGCONT)
    for process in (holder, second):
        output, errors = process.communicate(timeout=100)
        assert process.returncode == DONE, output + errors
    assert orders.count("s.orders") == 6


def test_a_killed_holder_holds_nothing(orders, holder):
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    orders.must("append", "s.orders", "orders.csv", "--wait", "0")
    assert orders.count("s.orders") == 3


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_append_names_its_operation(orders, holder, ended_by):
    holder.send_signal(ended_by)
    holder.send_signal(signal.SIGCONT)
    _, errors = holder.communicate(timeout=100)
    assert holder.returncode == -ended_by
    operation = errors.split("--operation-id ")[1].split(":")[0]
    for replayed in (False, True):
        answer = orders.must_json("append", "s.orders", "orders.csv", "--operation-id", operation, "--json")
        assert answer["replayed"] is replayed
    assert orders.count("s.orders") == 3
