"""PyTorch: functions of one draw and of a batch, dtypes, and torch.distributions."""

import numpy as np
import pytest
import torch

import steinwise as sw

CONCENTRATION = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64)
BOUNDED = torch.distributions.transform_to(torch.distributions.constraints.positive)
SIMPLEX = torch.distributions.transforms.StickBreakingTransform()
CHOLESKY = torch.distributions.transforms.CorrCholeskyTransform()


def log_prob(x):
    """Half-normal, Dirichlet and LKJ, each on the real line by torch's own transform."""
    tau, y, z = x[0], x[1:3], x[3:4]
    w, factor = SIMPLEX(y), CHOLESKY(z)
    distributions = torch.distributions
    return (
        distributions.HalfNormal(1.0, validate_args=False).log_prob(BOUNDED(tau))
        + BOUNDED.log_abs_det_jacobian(tau, BOUNDED(tau))
        + distributions.Dirichlet(CONCENTRATION, validate_args=False).log_prob(w)
        + SIMPLEX.log_abs_det_jacobian(y, w)
        + distributions.LKJCholesky(2, 2.0, validate_args=False).log_prob(factor)
        + CHOLESKY.log_abs_det_jacobian(z, factor)
    )


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(0)
    tau = torch.as_tensor(np.abs(rng.normal(size=400)))
    w = torch.as_tensor(rng.dirichlet([2.0, 3.0, 4.0], size=400))
    rho = 2 * rng.beta(2.0, 2.0, size=400) - 1
    factor = torch.zeros(400, 2, 2, dtype=torch.float64)
    factor[:, 0, 0] = 1
    factor[:, 1, 0] = torch.as_tensor(rho)
    factor[:, 1, 1] = torch.sqrt(1 - factor[:, 1, 0] ** 2)
    parts = BOUNDED.inv(tau)[:, None], SIMPLEX.inv(w), CHOLESKY.inv(factor)
    return torch.cat(parts, dim=1)


def test_right_draws_fit_and_wrong_ones_do_not(draws):
    names = ["tau", "w.0", "w.1", "chol"]
    samples, target = sw.from_torch(draws, log_prob, names=names)
    assert samples.names == tuple(names)
    assert not sw.check(samples, target, alpha=0.01).rejected
    found = sw.check(
        draws.numpy() + np.array([0.0, 0.0, 0.6, 0.0]), target, alpha=0.01, names=names
    )
    assert found.rejected
    assert found["w.1"].adjusted_pvalue <= 0.01


def test_scores_are_those_of_autograd(draws):
    _, target = sw.from_torch(draws, log_prob)
    x = draws[:5].clone().requires_grad_(True)
    (expected,) = torch.autograd.grad(sum(log_prob(row) for row in x), x)
    np.testing.assert_allclose(target.score(draws[:5].numpy()), expected.numpy(), rtol=1e-12)
    values, _ = target.line_values(
        draws[:5].numpy(), np.array([0]), draws[:5, :1].numpy()[:, :, None]
    )
    ours = values[:, 0, 0]
    theirs = np.array([float(log_prob(row)) for row in draws[:5]])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-12)


def test_a_function_of_a_batch_is_called_with_batches():
    """A normalising flow has log_prob (n, d) -> (n,); taken row by row it would be slow."""
    sizes = []

    def batched(x):
        sizes.append(len(x))
        return -(x**2).sum(-1) / 2

    draws = torch.randn(300, 3, generator=torch.Generator().manual_seed(0))
    samples, target = sw.from_torch(draws, batched)
    score = target.score(samples.rows)
    np.testing.assert_allclose(score, -samples.rows, rtol=1e-6)
    assert max(sizes) == 300


@pytest.mark.parametrize("d", [1, 3, 4])
def test_one_draw_is_never_taken_for_a_batch(d):
    """x[0] of a batch is a row: as many values as coordinates, which must not look like rows."""
    draws = torch.randn(50, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _, target = sw.from_torch(draws, lambda x: -(x[0] ** 2) / 2 - (x[1:] ** 2).sum())
    expected = -draws.numpy() * ([1.0] + [2.0] * (d - 1))
    np.testing.assert_allclose(target.score(draws.numpy()), expected)


def test_float32_module_and_draws():
    """The dtype of the draws decides: a module in 32 bit refuses 64."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(2, 1)
    draws = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    samples, target = sw.from_torch(draws, lambda x: layer(x).squeeze() - (x**2).sum() / 2)
    assert samples.values.dtype == np.float64
    assert target.score(samples.rows).dtype == np.float64
    with pytest.raises(sw.TargetError, match="must share their dtype"):
        sw.from_torch(draws.double(), lambda x: layer(x).squeeze() - (x**2).sum() / 2)


def test_what_cannot_be_vectorised_is_looped_with_a_word_of_warning():
    """A branch on a value, which vmap cannot follow."""

    def branching(x):
        return -(x**2).sum() / 2 if x[0].item() > 0 else -(x @ x) / 2

    draws = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    with pytest.warns(sw.SteinwiseWarning, match="called draw by draw"):
        _, target = sw.from_torch(draws, branching)
    np.testing.assert_allclose(target.score(draws.double().numpy()), -draws.numpy(), rtol=1e-6)


def test_distributions_that_check_their_arguments():
    prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2), validate_args=True)
    draws = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    _, target = sw.from_torch(draws, lambda x: prior.log_prob(x).sum())
    np.testing.assert_allclose(target.score(draws.double().numpy()), -draws.numpy(), rtol=1e-6)


def test_draws_that_need_a_gradient_and_chains():
    draws = torch.randn(2, 100, 3, generator=torch.Generator().manual_seed(0)).requires_grad_(True)
    samples, _ = sw.from_torch(draws, lambda x: -(x**2).sum() / 2)
    assert (samples.n_chains, samples.n_draws) == (2, 100)


def test_what_is_refused():
    draws = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    with pytest.raises(sw.TargetError, match="expected a scalar"):
        sw.from_torch(draws, lambda x: -(x**2) / 2)
    with pytest.raises(sw.InputError, match="expected a function"):
        sw.from_torch(draws, 3.0)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="dtype int64: expected floats"):
        sw.from_torch(torch.arange(10).reshape(5, 2), lambda x: -(x**2).sum())


@pytest.mark.parametrize("batched", [True, False])
def test_a_log_prob_that_writes_into_its_input_spoils_nothing(batched):
    """x -= mean is common; the user's draws and the points that follow must stay."""

    def log_prob(x):
        x -= 1.0
        return -(x**2).sum(-1) / 2 if batched else -(x**2).sum() / 2

    draws = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    before = draws.clone()
    samples, target = sw.from_torch(draws, log_prob)
    for _ in range(2):
        np.testing.assert_allclose(target.score(samples.rows), 1 - before.numpy())
    assert torch.equal(draws, before)


def test_a_density_of_torch_is_recognised_or_pointed_to_its_adapter():
    """Catches a message that asks for jax.numpy of someone who uses PyTorch."""
    normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    x = torch.randn(300, 2, generator=torch.Generator().manual_seed(0))
    expected = sw.check(*sw.from_torch(x, normal.log_prob)).pvalue
    assert sw.check(x, normal.log_prob).pvalue == expected
    assert sw.check(x, normal).pvalue == expected
    for density in (lambda x: torch.sum(-(x**2) / 2), lambda x: normal.log_prob(x)):
        with pytest.raises(sw.TargetError, match=r"sw\.from_torch"):
            sw.check(x, density)
