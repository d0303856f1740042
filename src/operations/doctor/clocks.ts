import type { Config } from '../../service/config/config.ts'
import { describeServer } from './describe-server.ts'
import { type Check, Problem, RUN_AGAIN, type Warning } from './remedies.ts'

/** Retries and retention compare times; a token is valid for minutes. */
const WARN_MS = 30_000
const FAIL_MS = 5 * 60_000
const ANSWER_MAX_MS = 3_000
const REMEDY =
  'have a time service (such as chrony) set the clocks of both machines: tokens, retries and retention compare times'

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

/** @internal @param clocks how far each is ahead of ours, in ms */
export function judgeClocks(clocks: readonly (readonly [name: string, aheadMs: number])[]): string | Warning {
  const words = clocks.map(([name, aheadMs]) => {
    const seconds = Math.round(Math.abs(aheadMs) / 1_000)
    if (seconds <= 1) return `${name}: the same time`
    return `${name}: ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
  })
  const detail = words.join(', ')
  const worstMs = Math.max(...clocks.map(([, aheadMs]) => Math.abs(aheadMs)))
  if (worstMs > FAIL_MS) throw new Problem(detail, REMEDY)
  return worstMs > WARN_MS ? { warning: detail, remedy: REMEDY } : detail
}

/** By the Date header, which has seconds; null without one. An identity provider that does not answer has its own check. */
async function readAhead(url: string): Promise<number | null> {
  const askedMs = Date.now()
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) }).catch(() => null)
  const dateMs = Date.parse(answer?.headers.get('date') ?? '')
  await answer?.body?.cancel()
  return Number.isNaN(dateMs) ? null : dateMs + 500 - (askedMs + Date.now()) / 2
}
