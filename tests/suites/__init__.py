"""What others wrote and we must get right: programs, facts and answers that nobody in this project made."""
