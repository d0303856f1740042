import { CLOCKS_REMEDY, describeDifference, isOff } from '../../service/app/clock-difference.ts'
import type { Config } from '../../service/config/config.ts'
import { describeServer } from './describe-server.ts'
import { type Check, Problem, RUN_AGAIN, type Warning } from './remedies.ts'

const FAIL_MS = 5 * 60_000
const ANSWER_MAX_MS = 3_000

export const clocksCheck: Check = {
  name: 'clocks',
  prefix: 'DATABASE_',
  after: ['database'],
  run: checkClocks,
  remedies: { other: RUN_AGAIN },
}

/** Compares the clocks of the database and of the identity provider with that of this machine. */
async function checkClocks({ database, tokens }: Config): Promise<string | Warning> {
  const { aheadMs } = await describeServer(database.url)
  const provider = tokens === null ? null : await readAhead(tokens.keySetUrl)
  return judgeClocks([
    ['database', aheadMs],
    ...(provider === null ? [] : [['identity provider', provider] as const]),
  ])
}

/** @internal @param clocks difference of each to this machine's clock, in ms */
export function judgeClocks(clocks: readonly (readonly [name: string, aheadMs: number])[]): string | Warning {
  const detail = clocks.map((clock) => describeDifference(...clock)).join(', ')
  const worstMs = Math.max(...clocks.map(([, aheadMs]) => Math.abs(aheadMs)))
  if (worstMs > FAIL_MS) throw new Problem(detail, CLOCKS_REMEDY)
  return isOff(worstMs) ? { warning: detail, remedy: CLOCKS_REMEDY } : detail
}

/** By the Date header, in whole seconds; null without one. Another check reports an identity provider that does not answer. */
async function readAhead(url: string): Promise<number | null> {
  const askedMs = Date.now()
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) }).catch(() => null)
  const dateMs = Date.parse(answer?.headers.get('date') ?? '')
  await answer?.body?.cancel()
  return Number.isNaN(dateMs) ? null : dateMs + 500 - (askedMs + Date.now()) / 2
}
