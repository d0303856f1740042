import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { BacktestMessage, Period } from '../../core/workbench/backtest-report.ts'
import { type Candidate, candidate, type Review, review } from '../../core/workbench/review.ts'
import { type Trial, type TrialResult, trial, trialResult } from '../../core/workbench/trial.ts'
import { type ReadGrid, type WorkbenchStart, workbenchStart } from '../../core/workbench/workbench.ts'
import { subjectOf } from '../auth/tokens.ts'
import { unavailable } from '../problems/error-handler.ts'
import { ProblemError, problemBody } from '../problems/problem.ts'
import type { App } from '../server/base.ts'

/** Tries a rule table before it is proposed. Nothing is written anywhere; all work ends with `signal`. */
export interface Workbench {
  readonly start: WorkbenchStart
  /** Splits a file into its cells. Null: gave up, since it takes too long. */
  read(csv: string, of: 'table' | 'promises', signal: AbortSignal): Promise<ReadGrid | null>
  /** Null: gave up. */
  review(candidate: Candidate, signal: AbortSignal): Promise<Review | null>
  /** Null: gave up. `faults`: why the table cannot be tried. */
  try(
    table: string,
    trial: Trial,
    signal: AbortSignal,
  ): Promise<{ readonly tried: TrialResult | null; readonly faults: string[] } | null>
  /** Over the decisions of a period. Ends with a problem after a time limit. Null: another back-test is under way. */
  backtest(table: string, period: Period, signal: AbortSignal): AsyncIterable<BacktestMessage> | null
}

/** Some thousand rules. */
const BODY_BYTES_MAX = 256 * 1024
const DAYS_MAX = 31
const DAY_MS = 86_400_000
/** Longer than a back-test may take: it says nothing before its first page. */
const BACKTEST_SILENCE_MS_MAX = 180_000

const instant = z.iso.datetime({ offset: true })
const post = { config: { access: 'admin' as const }, bodyLimit: BODY_BYTES_MAX }
const refusals = { 400: problemBody, 413: problemBody, 503: problemBody }

/** The workbench of the console. A back-test lists entries of the log with their members, and needs the same right. */
export function workbenchRoutes(app: App, workbench: Workbench): void {
  const startSchema = { querystring: z.strictObject({}), response: { 200: workbenchStart } }
  app.get(
    '/workbench',
    { config: { access: 'admin' }, schema: startSchema },
    async () => workbench.start as z.input<typeof workbenchStart>,
  )

  const gridSchema = {
    body: z.strictObject({ csv: z.string(), of: z.enum(['table', 'promises']) }),
    response: {
      200: z.object({ grid: workbenchStart.shape.table.shape.grid.nullable(), faults: z.array(z.string()) }),
      ...refusals,
    },
  }
  app.post('/workbench/grid', { ...post, schema: gridSchema }, async ({ body: { csv, of } }, reply) => {
    const read = await workbench.read(csv, of, untilGone(reply))
    if (read === null) throw tooLarge()
    return { grid: read.grid, faults: [...read.faults] }
  })

  const reviewSchema = { body: candidate.strict(), response: { 200: review, ...refusals } }
  app.post('/workbench/review', { ...post, schema: reviewSchema }, async ({ body }, reply) => {
    const reviewed = await workbench.review(body, untilGone(reply))
    if (reviewed === null) throw tooLarge()
    return reviewed
  })

  const trySchema = {
    body: z.strictObject({ table: z.string(), trial }),
    response: { 200: z.object({ tried: trialResult.nullable(), faults: z.array(z.string()) }), ...refusals },
  }
  app.post('/workbench/try', { ...post, schema: trySchema }, async ({ body }, reply) => {
    const tried = await workbench.try(body.table, body.trial, untilGone(reply))
    if (tried === null) throw tooLarge()
    return tried
  })

  backtestRoute(app, workbench)
}

/** Aborted once the client is gone, or has its answer. The request's own signal is aborted as soon as its body has been read. */
function untilGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}

function tooLarge(): ProblemError {
  return unavailable(
    'The check took too long: the table is too large, or the service too busy. Try again, or use the command `rules check`.',
  )
}

/** Answers with one JSON value a line: the progress, then the report. */
function backtestRoute(app: App, workbench: Workbench): void {
  const schema = {
    body: z.strictObject({ table: z.string(), from: instant, to: instant }).refine(
      ({ from, to }) => {
        const days = (Date.parse(to) - Date.parse(from)) / DAY_MS
        return days > 0 && days <= DAYS_MAX
      },
      { path: ['to'], error: `must be later than "from", by at most ${DAYS_MAX} days` },
    ),
    response: refusals,
  }
  app.post('/workbench/backtest', { ...post, schema }, async (request, reply) => {
    const { table, ...period } = request.body
    const messages = workbench.backtest(table, period, untilGone(reply))
    if (messages === null) {
      throw unavailable('Another back-test is under way, and one runs at a time. Try again in a few seconds.')
    }
    reply.raw.setTimeout(BACKTEST_SILENCE_MS_MAX, () => reply.raw.destroy())
    request.log.info({ tokenSubject: subjectOf(request), ...period }, 'back-test')
    const rest = messages[Symbol.asyncIterator]()
    // However it ends: with faults, with a client that leaves before the stream is read, or at its end.
    reply.raw.once('close', () => void rest.return?.().catch(() => {}))
    const first: BacktestMessage | undefined = (await rest.next()).value
    if (first?.kind === 'faults') throw faulty(first.faults)
    if (first?.kind === 'problem') throw unavailable(first.problem)
    return reply.type('application/x-ndjson').send(Readable.from(linesOf(first, rest)) as never)
  })
}

function faulty(faults: readonly string[]): ProblemError {
  return new ProblemError('invalid-request', {
    detail: 'The rule table has faults.',
    errors: faults.map((detail) => ({ detail, pointer: '#/table' })),
  })
}

async function* linesOf(first: BacktestMessage | undefined, rest: AsyncIterator<BacktestMessage>) {
  const line = (message: BacktestMessage) => `${JSON.stringify(message)}\n`
  if (first !== undefined) yield line(first)
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield line(next.value)
  } catch {
    // The status is sent already.
    yield line({ kind: 'problem', problem: 'The back-test failed. Try again later.' })
  }
}
