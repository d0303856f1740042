import type { Config } from '../config/config.ts'
import { explainNotTold, revisionsOf } from '../core/log/not-told.ts'
import type { RuleTable } from '../core/rules/table.ts'
import { explain } from '../core/why/explain.ts'
import { rememberRules } from '../core/why/rules.ts'
import type { ConsoleData } from '../http/console/data.ts'
import type { LogEntries } from '../http/routes/log.ts'
import { countLogEntries } from '../postgres/read/count-log.ts'
import { countRuleHits } from '../postgres/read/count-rule-hits.ts'
import { listLogEntries } from '../postgres/read/list-log.ts'
import { listNotTold } from '../postgres/read/list-not-told.ts'
import { listPreferenceChanges } from '../postgres/read/list-preference-changes.ts'
import { readLogEntry } from '../postgres/read/read-log-entry.ts'
import { listRejected } from '../postgres/read/read-rejected.ts'
import { listActivations } from '../postgres/write/activate-rule-table.ts'
import { readArchivedRuleTable } from '../postgres/write/archive.ts'
import { readPreferences } from '../postgres/write/preferences.ts'
import type { Database } from './database.ts'

/** What is read over HTTP: log entries with their reasons, and all that the console shows. */
export function createReads(
  retryLimits: Config['retry'],
  { revision, rules }: RuleTable,
  { pool }: Database,
): { readonly logEntries: LogEntries; readonly consoleData: ConsoleData } {
  const rulesOf = rememberRules((revision) => readArchivedRuleTable(pool(), revision))
  const logEntries: LogEntries = {
    list: async (filter, page) => listLogEntries(pool(), filter, page),
    get: async (locator) => {
      const entry = await readLogEntry(pool(), locator)
      return entry && explain(entry, await rulesOf(entry.decisions))
    },
  }
  const consoleData: ConsoleData = {
    logEntries,
    countEntries: async (window) => countLogEntries(pool(), window),
    preferences: {
      get: async (partyLocator) => readPreferences(pool(), partyLocator),
      changes: async (partyLocator, countMax) => listPreferenceChanges(pool(), partyLocator, countMax),
    },
    listNotTold: async (filter, page) => {
      const { items, next } = await listNotTold(pool(), retryLimits, filter, page)
      return { items: explainNotTold(items, await rulesOf(revisionsOf(items))), next }
    },
    listRejected: async (query, page) => listRejected(pool(), { ...query, ids: null, since: null }, page),
    rulesInForce: {
      revision,
      rules,
      activation: async () =>
        (await listActivations(pool())).findLast((activation) => activation.revision === revision) ?? null,
      hits: async () => countRuleHits(pool(), revision),
    },
  }
  return { logEntries, consoleData }
}
