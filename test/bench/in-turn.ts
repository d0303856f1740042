/**
 * Runs every name once a round, in the opposite order every second round. Returns the results of each name by round, and prints
 * progress to standard error.
 */
export async function inTurn<Name extends string, Result extends { readonly eventsPerSecond: number }>(
  roundCount: number,
  names: readonly Name[],
  run: (name: Name, round: number) => Promise<Result>,
): Promise<Record<Name, Result[]>> {
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Name, Result[]>
  for (let round = 1; round <= roundCount; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await run(name, round)
      results[name].push(result)
      process.stderr.write(
        `round ${round} of ${roundCount}, ${name}: ${Math.round(result.eventsPerSecond)}/s\n`,
      )
    }
  }
  return results
}

export const ratesOf = (results: readonly { readonly eventsPerSecond: number }[]) =>
  results.map(({ eventsPerSecond }) => eventsPerSecond)
