"""`{% generation %}` tags put into a template, proven to change nothing else."""
