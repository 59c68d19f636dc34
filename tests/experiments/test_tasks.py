"""Cells, tasks and their random numbers."""

from experiments.engine.tasks import Task, cell


def first_number(task: Task) -> float:
    return task.draws_generator().normal()


def test_the_order_in_which_a_setting_is_written_does_not_matter():
    assert cell("a", n=1, d=2) == cell("a", d=2, n=1)


def test_methods_share_draws_and_nothing_else_does():
    task = Task("s", cell("a", n=1), 0)
    assert first_number(task) == first_number(Task("s", cell("b", n=1), 0))
    others = [Task("t", cell("a", n=1), 0), Task("s", cell("a", n=2), 0)]
    others += [Task("s", cell("a", m=1), 0), Task("s", cell("a", n=1), 1)]
    assert len({first_number(one) for one in [task, *others]}) == 5


def test_every_task_has_a_seed_of_its_own():
    tasks = [
        Task(study, cell(method, n=n), repetition)
        for study in ("s", "t")
        for method in ("a", "b")
        for n in (1, 2)
        for repetition in range(50)
    ]
    assert len({task.seed() for task in tasks}) == len(tasks)


def test_seeds_stay_what_they_are():
    """Committed records would no longer be those of their tasks."""
    task = Task("laplace", cell("KSD (RBF)", n=1000, d=30), 7)
    assert task.seed() == 4747097680216935613
    assert round(first_number(task), 6) == 0.339809
