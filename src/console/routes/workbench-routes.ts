import { z } from 'zod'
import type { WorkbenchStart } from '../../authoring/diff/review.ts'
import { readSubject } from '../../service/http/auth/tokens.ts'
import { identifier } from '../../service/http/input/fields.ts'
import { cursors } from '../../service/http/input/paging.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import {
  type DecisionPage,
  decisionPage,
  type ListedMember,
  listedMember,
} from '../../service/model/decision-group.ts'
import { parseSince } from '../../service/time/duration.ts'

/** A page of the decisions of a period; the first one without a cursor. */
interface PageRequest {
  readonly from: string
  readonly to: string
  readonly cursor?: string | null | undefined
}

/**
 * Server side of the workbench: the files in force, and the recorded decisions, which the browser decides again. A page of them has
 * a bounded cost, and its read stops with the signal, once the client is gone. All reads reject if the database fails.
 */
export interface Workbench {
  readonly start: () => Promise<WorkbenchStart>
  readonly readDecisions: (page: PageRequest, signal: AbortSignal) => Promise<DecisionPage>
  /** Some log entries of a group on a page; none if the page no longer has the group. */
  readonly listMembers: (page: PageRequest, group: string, signal: AbortSignal) => Promise<ListedMember[]>
  /** A rule table that was once in force; null if the archive does not have it. */
  readonly readRuleTable: (revision: string) => Promise<string | null>
}

/** Converted to UTC, since PostgreSQL accepts fewer offsets and years than ISO 8601. */
const instant = z.iso
  .datetime({ offset: true })
  .transform((text) => parseSince(text))
  .pipe(z.string('is not a time with Z or an offset, in the years 1 to 9999'))
const cursor = cursors('decisions', identifier.startsWith('NTF-'))
const page = { from: instant, to: instant, cursor: cursor.parameter }
const isForward = ({ from, to }: { readonly from: string; readonly to: string }) => from < to
const BACKWARD = { path: ['to'], error: 'must be later than "from"' }

const workbenchStart = z.object({
  table: z.string(),
  promises: z.string(),
  templates: z.array(z.object({ name: z.string(), text: z.string() })).readonly(),
  outcomes: z.string(),
  traffic: z.string().nullable(),
  repositoryUrl: z.string().nullable(),
})
const config = { access: 'admin', returnsPersonalData: false } as const

/** The files in force; recorded decisions in groups, page by page; and the rule tables that made them. */
export function workbenchRoutes(app: HttpApp, workbench: Workbench): void {
  const start = { querystring: z.strictObject({}), response: { 200: workbenchStart } }
  app.get('/workbench', { config, schema: start }, workbench.start)

  const decisions = {
    querystring: z.strictObject(page).refine(isForward, BACKWARD),
    response: { 200: decisionPage },
  }
  app.get('/workbench/decisions', { config, schema: decisions }, async (request) => {
    const { from, to, cursor: after = null } = request.query
    // Logged for each page, since anyone can invent a cursor and begin with it.
    request.log.info({ tokenSubject: readSubject(request), from, to, after }, 'a back-test reads a page')
    const { nextCursor, ...found } = await workbench.readDecisions(request.query, request.signal)
    return { ...found, nextCursor: nextCursor && cursor.encode(nextCursor) }
  })

  const ruleTable = {
    params: z.object({ revision: identifier }),
    response: { 200: z.object({ source: z.string().nullable() }) },
  }
  app.get('/workbench/rule-tables/:revision', { config, schema: ruleTable }, async ({ params }) => ({
    source: await workbench.readRuleTable(params.revision),
  }))
}

/** Members of a group that a back-test decides differently: `cursor` is that of the group's page. */
export function backtestMembersRoute(app: HttpApp, { listMembers }: Workbench): void {
  const schema = {
    querystring: z.strictObject({ ...page, group: identifier }).refine(isForward, BACKWARD),
    response: { 200: z.object({ items: z.array(listedMember) }) },
  }
  const members = { ...config, returnsPersonalData: true }
  app.get(
    '/workbench/members',
    { config: members, schema },
    async ({ query: { group, ...page }, signal }) => ({
      items: await listMembers(page, group, signal),
    }),
  )
}
