"""What comes out: frozen records, the words for them, and the forms they are shown in."""
