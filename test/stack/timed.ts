/** Does the work and says how long it took, in seconds with one decimal. */
export async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: string }> {
  const startedMs = performance.now()
  const value = await work()
  return { value, seconds: ((performance.now() - startedMs) / 1_000).toFixed(1) }
}
