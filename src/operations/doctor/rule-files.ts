import { readRuleFiles } from '../../service/app/rule-files.ts'
import { counted } from '../../service/text/count.ts'
import type { Check } from './remedies.ts'

const REMEDY = 'run `rules check`, and correct the file that it names: see rules/README.md'

export const ruleFilesCheck: Check = {
  name: 'rules',
  prefix: 'HOUSE',
  run: async () => {
    const { ruleTable, warnings } = await readRuleFiles()
    if (warnings.length > 0) return { warning: warnings.join('\n'), remedy: REMEDY }
    return counted(ruleTable.rules.length, 'rule')
  },
  remedies: { other: REMEDY },
}
