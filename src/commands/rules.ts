import { Command } from 'commander'
import { backtestCommand } from './rules/backtest.ts'
import { checkCommand } from './rules/check.ts'
import { diffCommand } from './rules/diff.ts'
import { outcomesCommand } from './rules/outcomes.ts'
import { summaryCommand } from './rules/summary.ts'
import { tryCommand } from './rules/try.ts'

export const rulesCommand = new Command('rules')
  .description('check, try, compare and back-test rule tables')
  .addHelpText('after', '\nExample:\n  $ notifications-service rules check')
  .addCommand(backtestCommand)
  .addCommand(checkCommand)
  .addCommand(diffCommand)
  .addCommand(outcomesCommand)
  .addCommand(summaryCommand)
  .addCommand(tryCommand)
