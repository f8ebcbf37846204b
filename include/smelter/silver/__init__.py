"""What becomes of a row of bronze? Each thing once, judged before it is published."""
