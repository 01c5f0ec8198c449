"""What runs in another process, here in this one."""

from __future__ import annotations

import operator
import pickle
import signal
from multiprocessing import Pipe

import pytest

from mercer.runtime.serving import Done, called, serve


@pytest.fixture
def interruptible():
    """Serving makes its process deaf to interruptions: undo it for the process of the tests."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def served(packed, *messages):
    caller, server = Pipe()
    for message in messages:
        caller.send_bytes(message)
    caller.send_bytes(b"no pickle")
    answers = []

    class Caller:
        recv_bytes = server.recv_bytes

        def send(self, done):
            answers.append(done)
            if len(answers) > len(messages):
                raise BrokenPipeError

    serve(Caller(), packed)
    return answers


def test_each_message_is_answered_until_the_caller_ends(interruptible):
    pairs = pickle.dumps(([1, 2], [3.0, 4.0]))
    *answers, last = served(pickle.dumps(operator.mul), pairs, pairs)
    assert answers == [Done([3.0, 8.0])] * 2
    assert last.lost.startswith("UnpicklingError: ")


def test_a_function_that_cannot_be_loaded_is_told(interruptible):
    gone = pickle.dumps(operator.mul).replace(b"mul", b"mud")
    assert "mud" in served(gone, pickle.dumps(([1], [2])))[0].lost


def test_calls_end_at_the_first_failure():
    done = called(operator.truediv, [1, 1, 1], [2, 0, 4])
    assert done == Done([0.5], failed="ZeroDivisionError: division by zero")
    assert called(lambda x, y: "text", [1], [2]).failed.startswith("ValueError: could not convert")
