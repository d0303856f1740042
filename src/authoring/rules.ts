import { newCommand } from '../terminal/options.ts'
import { backtestCommand } from './back-test/back-test.ts'
import { checkCommand } from './check/check.ts'
import { diffCommand } from './diff/diff.ts'
import { summaryCommand } from './diff/summary.ts'
import { outcomesCommand } from './outcomes/outcomes.ts'
import { trafficCommand } from './traffic/traffic.ts'
import { tryCommand } from './try/try.ts'

export const rulesCommand = newCommand('rules', { example: 'rules check' })
  .description('check, try, compare and back-test rule tables')
  .addCommand(backtestCommand)
  .addCommand(checkCommand)
  .addCommand(diffCommand)
  .addCommand(outcomesCommand)
  .addCommand(summaryCommand)
  .addCommand(trafficCommand)
  .addCommand(tryCommand)
