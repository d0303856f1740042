import type { Config } from '../config/config.ts'
import { LISTED_COUNT_MAX } from '../core/workbench/backtest-report.ts'
import type { Workbench } from '../http/console/workbench.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { readUntil } from '../postgres/connection/read-until.ts'
import { findMembers, groupDecisions } from '../postgres/read/group-decisions.ts'
import { readArchived } from '../postgres/read/read-archive.ts'
import { OUTCOMES, type RuleFiles, readText } from './rule-files.ts'

/** The files in force, and the recorded decisions on which a draft is tried. */
export function createWorkbench(
  { repositoryUrl }: Pick<Config, 'repositoryUrl'>,
  { ruleTable, promises, templates }: Pick<RuleFiles, 'ruleTable' | 'promises' | 'templates'>,
  listPool: () => DatabasePool,
): Workbench {
  return {
    start: async () => ({
      table: ruleTable.source,
      promises,
      templates: [...templates.byEventType.values(), templates.generic].map(({ name, source }) => ({
        name: `${name}.mustache`,
        text: source,
      })),
      // The file may be missing, as for the summary of a pull request.
      outcomes: await readText(OUTCOMES).catch(() => ''),
      repositoryUrl,
    }),
    readDecisions: async (page, signal) =>
      readUntil(signal, listPool(), (connection) => groupDecisions(connection, page, { locatorCountMax: 0 })),
    listMembers: async (page, group, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const { groups } = await groupDecisions(connection, page, { locatorCountMax: LISTED_COUNT_MAX })
        const locators = groups.find(({ id }) => id === group)?.locators ?? []
        const members = await findMembers(connection, locators)
        const gone = { partyLocator: null, createdAt: null }
        return locators.map((locator) => members.get(locator) ?? { locator, ...gone })
      }),
    readRuleTable: async (revision) => readArchived(listPool(), 'ruleset', revision),
  }
}
