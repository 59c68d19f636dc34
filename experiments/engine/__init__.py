"""What runs any panel: tasks, their records on disk, a runner on any executor, figures, a page."""
