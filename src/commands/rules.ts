import { backtestCommand } from './rules/backtest.ts'
import { checkCommand } from './rules/check.ts'
import { diffCommand } from './rules/diff.ts'
import { outcomesCommand } from './rules/outcomes.ts'
import { summaryCommand } from './rules/summary.ts'
import { tryCommand } from './rules/try.ts'
import { newCommand } from './terminal/options.ts'

export const rulesCommand = newCommand('rules', { example: 'rules check' })
  .description('check, try, compare and back-test rule tables')
  .addCommand(backtestCommand)
  .addCommand(checkCommand)
  .addCommand(diffCommand)
  .addCommand(outcomesCommand)
  .addCommand(summaryCommand)
  .addCommand(tryCommand)
