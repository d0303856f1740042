import { LISTED_COUNT_MAX } from '../../authoring/back-test/backtest-report.ts'
import { findMembers, groupDecisions } from '../../authoring/back-test/group-decisions.ts'
import { readTemplateFiles } from '../../authoring/templates/template-files.ts'
import { OUTCOMES_FILE, readText, TEMPLATES, TRAFFIC } from '../../service/app/authored-files.ts'
import type { RuleFiles } from '../../service/app/rule-files.ts'
import type { Config } from '../../service/config/config.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readUntil } from '../../service/store/connection/read-until.ts'
import { readArchived } from '../../service/store/read/read-archive.ts'
import type { Workbench } from './workbench-routes.ts'

/** The files in force, and the recorded decisions on which a draft is tried. */
export function createWorkbench(
  { repositoryUrl }: Pick<Config, 'repositoryUrl'>,
  { ruleTable, promises }: Pick<RuleFiles, 'ruleTable' | 'promises'>,
  listPool: () => DatabasePool,
): Workbench {
  return {
    start: async () => ({
      table: ruleTable.source,
      promises,
      templates: readTemplateFiles(TEMPLATES),
      // The file may be missing, as for the summary of a pull request.
      outcomes: await readText(OUTCOMES_FILE).catch(() => ''),
      traffic: await readText(TRAFFIC).catch(() => null),
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
