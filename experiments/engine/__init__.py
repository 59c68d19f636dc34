"""What every panel uses: tasks, their records on disk, a runner, executors, figures, the page."""
