"""Two lanes of one program at one byte: `meeting.py` decides whether there are any."""
