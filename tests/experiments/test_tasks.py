"""Cells, tasks and their random numbers."""

from experiments.engine.tasks import Task, make_cell


def first_number(task: Task) -> float:
    return task.draws_generator().normal()


def test_the_order_in_which_a_setting_is_written_does_not_matter():
    assert make_cell("a", n=1, d=2) == make_cell("a", d=2, n=1)


def test_only_methods_of_a_setting_and_repetition_share_draws():
    task = Task("s", make_cell("a", n=1), 0)
    assert first_number(task) == first_number(Task("s", make_cell("b", n=1), 0))
    others = [Task("t", make_cell("a", n=1), 0), Task("s", make_cell("a", n=2), 0)]
    others += [Task("s", make_cell("a", m=1), 0), Task("s", make_cell("a", n=1), 1)]
    assert len({first_number(other) for other in [task, *others]}) == 5


def test_every_task_has_a_seed_of_its_own():
    tasks = [
        Task(study, make_cell(method, n=n), repetition)
        for study in ("s", "t")
        for method in ("a", "b")
        for n in (1, 2)
        for repetition in range(50)
    ]
    assert len({task.seed() for task in tasks}) == len(tasks)


def test_seeds_do_not_change():
    """Otherwise the committed records would not be those of their tasks."""
    task = Task("laplace", make_cell("KSD (RBF)", n=1000, d=30), 7)
    assert task.seed() == 4747097680216935613
    assert round(first_number(task), 6) == 0.339809
