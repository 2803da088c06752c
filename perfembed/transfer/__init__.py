"""Transfer tuning: a donor's schedule matched, aligned and adapted to another nest (Trümper et al. 2023, section 4)."""
