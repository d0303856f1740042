import type { WorkbenchStart } from '../../../src/authoring/diff/review.ts'
import { addConsole } from '../../../src/console/routes/console.ts'
import type { ConsoleData } from '../../../src/console/routes/data-routes.ts'
import { type ConsolePage, readConsolePage } from '../../../src/console/routes/page.ts'
import type { Requests } from '../../../src/console/routes/request-routes.ts'
import type { Workbench } from '../../../src/console/routes/workbench-routes.ts'
import type { NewPreferences } from '../../../src/service/decide/party/preferences.ts'
import { showRules } from '../../../src/service/decide/rules/current-rules.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import type { TokenRules } from '../../../src/service/http/auth/token-claims.ts'
import { buildManagement, type ManagementOptions } from '../../../src/service/http/management.ts'
import { type Http, serve } from '../../../src/service/http/server/server.ts'
import type { Blocked } from '../../../src/service/model/block-reasons.ts'
import { COUNT_WINDOWS } from '../../../src/service/model/log/count-windows.ts'
import type { StoredRequest } from '../../../src/service/model/request/schemas.ts'
import { showBlocked } from '../../../src/service/model/service-status.ts'
import type { SignIn } from '../../../src/service/model/sign-in.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { promise, promises, rule, table } from '../../authoring/build.ts'
import { dependencies, ENTRY, OUTAGE, withKeySet } from '../../service/http/fixture.ts'

export const PREFERENCES: NewPreferences = {
  email: null,
  phone: '+41 44 000 00 00',
  preferredChannel: 'SMS',
  optedOutEvents: ['claim.paid'],
}
export const TIME = '2026-01-31T12:00:00.000000Z'
export const REVISION = 'b'.repeat(64)

export const LOCKED: Blocked = {
  topic: 'claims',
  partition: 3,
  reason: 'locked',
  offset: 41n,
  sinceMs: Date.parse(TIME),
  detail: 'not shown',
}

const BY_SMS = { party: 'found', optedOut: false, preferredChannel: 'SMS', phoneOnFile: true }
export const TABLE = table(
  rule({ rule: 'muted', eventType: 'claim.* or invoice.paid', reason: 'muted', because: 'Nobody wants it.' }),
  rule({ rule: 'sms', ...BY_SMS, outcome: 'SEND', sendBy: 'SMS', because: 'It is wanted.' }),
)
const PROMISES = promises(promise({ promise: 'Nobody is told' }))
const GENERIC = 'Subject: News\n\nA {{eventType}} event has occurred\n'

/** A workbench with these files in force. */
export function aWorkbench(
  overrides: Partial<Workbench> = {},
  files: Partial<WorkbenchStart> = {},
): Workbench {
  return {
    start: async () => ({
      table: TABLE,
      promises: PROMISES,
      templates: [{ name: 'generic.mustache', text: GENERIC }],
      outcomes: '',
      traffic: null,
      repositoryUrl: null,
      ...files,
    }),
    readDecisions: async ({ cursor }) => ({ events: 2, groups: [], nextCursor: cursor ? null : 'NTF-2' }),
    listMembers: async () => [{ locator: 'NTF-1', partyLocator: 'PTY-1', createdAt: TIME }],
    readRuleTable: async (revision) => (revision === REVISION ? TABLE : null),
    ...overrides,
  }
}

export const REQUEST: StoredRequest = {
  id: '12',
  kind: 'retry',
  target: { locators: [ENTRY.locator] },
  by: 'alice',
  because: 'an outage',
  requestedAt: TIME,
  state: 'running',
  counts: { SENT: 3, unchanged: 1 },
  unchanged: [{ item: ENTRY.locator, reason: 'it was sent' }],
  note: null,
  endedAt: null,
}

/** Takes requests, and knows one. `added` are those that were asked for. */
export function aRequestDesk(added: unknown[] = [], overrides: Partial<Requests> = {}): Requests {
  return {
    list: async ({ after }) => ({ items: [REQUEST], next: after === null ? REQUEST.id : null }),
    get: async (id) => (id === REQUEST.id ? REQUEST : null),
    preview: async () => ({
      count: 1,
      isMore: false,
      groups: [{ reason: 'party not found', count: 1, isUnchanged: false }],
    }),
    add: async (wanted, by, because, key) => {
      added.push({ wanted, by, because, ...(key && { key }) })
      return { ...REQUEST, by, because, kind: wanted.kind }
    },
    cancel: async (id, by) => {
      added.push({ cancel: id, by })
      return id === REQUEST.id
    },
    ...overrides,
  }
}

/** A console with one example of everything that it shows. */
export function aConsole(overrides: Partial<ConsoleData> = {}): ConsoleData {
  return {
    logEntries: dependencies().all.logEntries,
    countEntries: async (window) => ({
      fromS: 0,
      toS: COUNT_WINDOWS[window].lengthS,
      stepS: COUNT_WINDOWS[window].stepS,
      complete: true,
      counts: [{ startS: 60, status: 'SENT', count: 2, givenUp: 0 }],
    }),
    search: async (text) => ({
      hits: [],
      similar: [{ kind: 'member', value: text.toLowerCase(), locator: null }],
      endings: [],
    }),
    eventTypes: async () => [
      { eventType: 'claim.paid', lastAt: TIME },
      { eventType: 'claim.void', lastAt: null },
    ],
    preferences: {
      unknownEventTypes: async (eventTypes) => eventTypes.filter((type) => type === 'claim.payed'),
      get: async (partyLocator) => (partyLocator === 'PTY-1' ? PREFERENCES : null),
      changes: async (partyLocator) => ({
        changes:
          partyLocator === 'PTY-1'
            ? [{ changedAt: TIME, changedBy: 'a clerk', before: null, after: PREFERENCES }]
            : [],
        isMore: false,
      }),
    },
    listRejected: async (_, { after }) => ({
      items: [
        {
          id: 7n,
          topic: 'claims',
          partition: 0,
          offset: 9_007_199_254_740_993n,
          code: 'not-json',
          error: 'the value is not valid JSON',
          rejectedAt: TIME,
          erasedAt: null,
          byteCount: 3,
          begin: Buffer.from('abc'),
          redriven: null,
        },
      ],
      next: after === null ? 7n : null,
    }),
    workbench: aWorkbench(),
    requests: aRequestDesk(),
    status: async () => ({
      consuming: null,
      isStarting: false,
      database: null,
      lookUps: null,
      totals: { waiting: 1_300, waitingSince: TIME, rejected: 507, givenUp: 5 },
      partitionCount: 3,
      holds: [],
      notices: [],
      blocked: showBlocked([LOCKED], (ms) => new Date(ms).toISOString()).map((one) => ({
        ...one,
        waiting: 1_204,
      })),
    }),
    rules: async () =>
      showRules(
        {
          ruleTable: { revision: REVISION, rules: loadRuleTable(TABLE) },
          warnings: ['rule table, it misses one'],
        },
        [
          { revision: 'older', activatedAt: 'before', gitCommit: 'c1', gitSubject: null },
          { revision: REVISION, activatedAt: TIME, gitCommit: null, gitSubject: null },
        ],
      ),
    ...overrides,
  }
}

interface Parts {
  readonly tokens: TokenRules | null
  readonly consolePage: ConsolePage
  readonly consoleData: ConsoleData
  readonly isLoopback: boolean
  readonly signIn: SignIn | null
}

/** The management listener, with the console, and its log. */
export function aManagement({
  tokens = null,
  consolePage = {
    html: '<!doctype html>',
    assets: new Map([['main-ABC.js', { type: 'text/javascript', content: Buffer.from('0') }]]),
  },
  consoleData = aConsole(),
  isLoopback = true,
  signIn = null,
  ...overrides
}: Partial<Parts & ManagementOptions> = {}) {
  const logged: string[] = []
  const log = createLog('info', { write: (line) => void logged.push(line) })
  const keyed = withKeySet(tokens, log)
  const all: ManagementOptions = {
    log,
    hosts: [],
    document: { openapi: '3.1.1', info: { title: 'x', version: '1' }, paths: {} },
    startup: async () => null,
    startupWarning: () => null,
    exposeMetrics: async () => ({ contentType: 'text/x', text: 'up 1\n' }),
    console: (app) => addConsole(app, consolePage, consoleData, { tokens: keyed, isLoopback, signIn }),
    isUnavailable: (error) => error === OUTAGE,
    observeResponse: () => {},
    requestCountMax: 100,
    ...overrides,
  }
  return { app: buildManagement(all), logged }
}

/** A listener with the console's page over this data, on a free port. */
export function serveConsole(data: Partial<ConsoleData> = {}, { isLoopback = true } = {}): Http {
  const { app } = aManagement({ consolePage: readConsolePage(), consoleData: aConsole(data), isLoopback })
  return serve(app, { host: '127.0.0.1', port: 0 })
}
