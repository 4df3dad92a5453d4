"""Runs on after each signal that can be caught, and sets its clock of time back."""

import signal

for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(each, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
