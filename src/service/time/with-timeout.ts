/** The promise's result or, after `timeoutMs`, that of `onTimeout`, which may throw. The work goes on; its later failure is ignored. */
export async function withTimeout<Value, Late>(
  timeoutMs: number,
  promise: Promise<Value>,
  onTimeout: () => Late,
): Promise<Value | Late> {
  const late = Promise.withResolvers<typeof TIMED_OUT>()
  // biome-ignore lint/style/noRestrictedGlobals: the result does not depend on when it is called
  const timer = setTimeout(() => late.resolve(TIMED_OUT), timeoutMs)
  try {
    const result = await Promise.race([promise, late.promise])
    return result === TIMED_OUT ? onTimeout() : result
  } finally {
    clearTimeout(timer)
  }
}

const TIMED_OUT = Symbol('timed out')
