import { Readable } from 'node:stream'
import { z } from 'zod'
import { describeFault, type Fault } from '../../core/text/faults.ts'
import { parseSince } from '../../core/time/duration.ts'
import type { BacktestJob, BacktestMessage } from '../../core/workbench/backtest-report.ts'
import type { WorkbenchStart } from '../../core/workbench/review.ts'
import { readSubject } from '../auth/tokens.ts'
import { unavailable } from '../problems/error-handler.ts'
import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

/** Server side of the workbench: files in force, and back-tests. */
export interface Workbench {
  readonly start: () => Promise<WorkbenchStart>
  /**
   * Back-test over the decisions of a period. Read-only; ends with `signal` or after a time limit. Null: another one is running.
   */
  backtest(job: BacktestJob, signal: AbortSignal): AsyncIterable<BacktestMessage> | null
}

/** Room for a few thousand rules. */
const BODY_BYTES_MAX = 256 * 1024
const DAYS_MAX = 31
/** Local days have an hour more where clocks are set back. */
const PERIOD_MS_MAX = (24 * DAYS_MAX + 1) * 3_600_000
/** Longer than a back-test may take: it sends nothing before its first page. */
const BACKTEST_SILENCE_MS_MAX = 180_000

/** Becomes UTC, since PostgreSQL takes fewer offsets and years than ISO 8601. */
const instant = z.iso.datetime({ offset: true }).transform((text, context) => {
  const found = parseSince(text)
  if (typeof found === 'string') return found
  context.addIssue({ code: 'custom', message: 'is not a time with Z or an offset, in the years 1 to 9999' })
  return z.NEVER
})
const workbenchStart = z.object({
  table: z.string(),
  promises: z.string(),
  templates: z.array(z.object({ name: z.string(), text: z.string() })).readonly(),
  outcomes: z.string(),
  repositoryUrl: z.string().nullable(),
})

/** The workbench of the console. A back-test lists log entries with their members, and needs the same right as the log. */
export function workbenchRoutes(app: HttpApp, workbench: Workbench): void {
  const schema = { querystring: z.strictObject({}), response: { 200: workbenchStart } }
  app.get('/workbench', { config: { access: 'admin' }, schema }, workbench.start)
  backtestRoute(app, workbench)
}

/** Answers with one JSON value per line: the progress, then the report. */
function backtestRoute(app: HttpApp, workbench: Workbench): void {
  const schema = {
    body: z
      .strictObject({ table: z.string(), eventTypes: z.array(z.string()), from: instant, to: instant })
      .refine(
        ({ from, to }) => {
          const periodMs = Date.parse(to) - Date.parse(from)
          return periodMs > 0 && periodMs <= PERIOD_MS_MAX
        },
        { path: ['to'], error: `must be later than "from", by at most ${DAYS_MAX} days` },
      ),
  }
  const options = { config: { access: 'admin' as const }, bodyLimit: BODY_BYTES_MAX, schema }
  app.post('/workbench/backtest', options, async (request, reply) => {
    const gone = new AbortController()
    // The request's own signal is aborted as soon as its body has been read.
    reply.raw.once('close', () => gone.abort())
    const messages = workbench.backtest(request.body, gone.signal)
    if (messages === null) {
      throw unavailable(
        'Another back-test is running, and only one can run at a time. Try again in a few seconds.',
      )
    }
    reply.raw.setTimeout(BACKTEST_SILENCE_MS_MAX, () => reply.raw.destroy())
    const { from, to } = request.body
    request.log.info({ tokenSubject: readSubject(request), from, to }, 'back-test')
    const rest = messages[Symbol.asyncIterator]()
    // Runs in any case: after faults, if the client leaves before the stream is read, and at the end.
    reply.raw.once('close', () => void rest.return?.().catch(() => {}))
    const first: BacktestMessage | undefined = (await rest.next()).value
    if (first?.kind === 'faults') throw faulty(first.faults)
    if (first?.kind === 'problem') throw unavailable(first.problem)
    return reply.type('application/x-ndjson').send(Readable.from(toLines(first, rest)) as never)
  })
}

function faulty(faults: readonly Fault[]): ProblemError {
  return new ProblemError('invalid-request', {
    detail: 'The rule table has faults.',
    errors: faults.map((fault) => ({ detail: describeFault(fault), pointer: '#/table' })),
  })
}

async function* toLines(first: BacktestMessage | undefined, rest: AsyncIterator<BacktestMessage>) {
  const line = (message: BacktestMessage) => `${JSON.stringify(message)}\n`
  if (first !== undefined) yield line(first)
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield line(next.value)
  } catch {
    // The status has already been sent.
    yield line({ kind: 'problem', problem: 'The back-test failed. Try again later.' })
  }
}
