"""The correctness campaign: random programs x random schedules, judged by the reference interpreter."""
