"""What users call, one file a verb; `entry` is the door that all of them go through."""
