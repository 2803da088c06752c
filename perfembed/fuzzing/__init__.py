"""The written program on values that the captured run does not have, with sanitizers, against the original loops."""
