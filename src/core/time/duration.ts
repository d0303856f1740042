const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration such as `24h` in milliseconds, a bare number as it is; undefined for anything else. */
export function milliseconds(text: string): number | undefined {
  const [, amount, unit = 'ms'] = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
}
