import { setTimeout as sleep } from 'node:timers/promises'
import { loadRetryLimits } from '../../service/config/config.ts'
import {
  NAMED_COUNT_MAX,
  type RequestPreview,
  type RequestTarget,
  type StoredRequest,
} from '../../service/model/request/schemas.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { addRequest } from '../../service/store/write/request-row.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { confirm, requireBecause, type WriteOptions } from '../../terminal/confirm.ts'
import { UsageError } from '../../terminal/options.ts'
import { note, print, showProgress } from '../../terminal/print.ts'
import { describeCounts, describeWanted } from './describe-request.ts'
import { getRequest } from './list-requests.ts'
import { PREVIEW_COUNT_MAX, previewRequest } from './preview-request.ts'
import { resolveTarget } from './resolve-target.ts'
import type { WantedTarget } from './wanted.ts'

/** Options of every command that asks the service for something. */
export interface AskOptions extends WriteOptions {
  readonly because?: string
}

const POLL_MS = 500
/** A running service takes a request within a few seconds. */
const TAKEN_MS = 15_000

/** The exit codes of the commands that ask. */
export const ASK_EXIT_CODES =
  '0 done, 1 stopped or cancelled, or an item given by its name was left unchanged'

/** The end of the help of a command that asks. */
export const ASK_HELP = `
The running service does it, by its rules, texts and contacts: this command needs DATABASE_URL alone. It shows the progress until
the end. Ctrl-C ends the command, not the request: see \`requests\`.`

const BECAUSE_MISSING = `--because is missing: the reason, without the name of a person; it is recorded
Add it to the command, as in: --because "the envelope map is corrected"
Or add --dry-run: it shows what the request would be for, and asks for nothing`

/** Throws UsageError without a reason, unless nothing is written, and for too many items. */
export function checkAsked(options: AskOptions, names: readonly unknown[]): void {
  if (names.length > NAMED_COUNT_MAX)
    throw new UsageError(`give at most ${NAMED_COUNT_MAX} at once, or use a filter`)
  requireBecause(options, BECAUSE_MISSING)
}

/** Shows what a request would be for; unless it is a dry run, asks on the terminal, adds the request and follows it to its end. */
export async function ask(pool: DatabasePool, wanted: WantedTarget, options: AskOptions): Promise<void> {
  const { because = '', by, dryRun, json } = options
  const target = await resolveTarget(pool, wanted)
  const words = describeWanted(target)
  const isQuiet = options.yes && !dryRun
  const preview = isQuiet ? null : await previewRequest(pool, loadRetryLimits(process.env), target)
  if (dryRun) return showPreview(words, preview as RequestPreview, json)
  if (preview !== null && !(await isConfirmed(target, words, preview, options)))
    return note('Not confirmed: nothing was asked for')
  await follow(pool, await addRequest(pool, target, by, because), json)
}

async function showPreview(words: string, preview: RequestPreview, json?: true): Promise<void> {
  if (json) return print(JSON.stringify(preview))
  await print(...describePreview(preview))
  note(`Dry run, nothing was asked for: ${words}, by their last reasons; the service decides again`)
}

async function isConfirmed(
  { kind }: RequestTarget,
  words: string,
  preview: RequestPreview,
  options: AskOptions,
): Promise<boolean> {
  for (const line of describePreview(preview)) note(line)
  if (preview.count === 0) return true
  const lost = kind === 'skip' ? ' Its events are lost unless they are published again.' : ''
  return confirm(`Ask the service for the ${words}?${lost}`, options)
}

function describePreview({ count, isMore, groups }: RequestPreview): string[] {
  const more = isMore ? `more than ${PREVIEW_COUNT_MAX} items; of the first:` : counted(count, 'item')
  return [
    more,
    ...groups.map((group) => {
      const unchanged = group.isUnchanged ? 'would be left unchanged: ' : ''
      return `  ${group.count}  ${unchanged}${printable(group.reason)}`
    }),
  ]
}

/** Shows the progress of a request until it ends, then its results. Sets the exit code. */
async function follow(pool: DatabasePool, id: string, json?: true): Promise<void> {
  note(`request ${id}: asked for`)
  process.once('SIGINT', () => {
    note(`request ${id} stays; \`requests show ${id}\` shows it, \`requests cancel ${id}\` ends it`)
    process.exit(130)
  })
  const startedMs = performance.now()
  let isNoted = false
  for (;;) {
    const request = await getRequest(pool, id)
    if (request === null) throw new Error(`request ${id} is gone`)
    if (request.endedAt !== null) return showEnd(request, json)
    showProgress(describeState(request))
    const isLate = request.state === 'waiting' && performance.now() - startedMs > TAKEN_MS
    if (isLate && !isNoted) {
      isNoted = true
      const why = request.note ?? 'no running service has taken it yet; it stays until one does it'
      note(`request ${id} waits: ${why}. \`requests cancel ${id}\` ends it`)
    }
    await sleep(POLL_MS)
  }
}

async function showEnd(request: StoredRequest, json?: true): Promise<void> {
  await print(...(json ? [JSON.stringify(request)] : describeRequest(request)))
  const target = request.target as object
  const isNamed = 'locators' in target || 'ids' in target
  if (request.state !== 'done' || (isNamed && request.unchanged.length > 0)) process.exitCode = 1
}

/** One line: id, state and results. */
export function describeState({ id, state, counts, note }: StoredRequest): string {
  const results = describeCounts(counts)
  return [`request ${id} ${state}`, results, note === null ? '' : printable(note)].filter(Boolean).join(': ')
}

/** A request in lines: what, who, why, its state, and the items that it left unchanged. */
export function describeRequest(request: StoredRequest): string[] {
  const { by, because, requestedAt, endedAt, counts, unchanged } = request
  const more = (counts.unchanged ?? 0) - unchanged.length
  return [
    describeState(request),
    `  ${printable(describeWanted(request))}`,
    `  asked for by ${printable(by)} at ${requestedAt}: ${printable(because)}`,
    ...(endedAt === null ? [] : [`  ended at ${endedAt}`]),
    ...unchanged.map(({ item, reason }) => `  ${item}  left unchanged: ${printable(reason)}`),
    ...(more > 0 ? [`  and ${more} more left unchanged`] : []),
  ]
}
