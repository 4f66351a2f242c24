// What a law of loss says of a budget.

/** Loss of N parameters after D tokens. */
export const lossAt = ([A, B, alpha, beta, E], N, D) => E + A / N ** alpha + B / D ** beta;

/** Parameters, tokens and loss that a law calls best for 6 N D operations. */
export function optimum(law, flops) {
  const [A, B, alpha, beta] = law;
  const N = ((alpha * A) / (beta * B)) ** (1 / (alpha + beta)) * (flops / 6) ** (beta / (alpha + beta));
  const D = flops / 6 / N;
  return { N, D, loss: lossAt(law, N, D) };
}
