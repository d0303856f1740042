import { Command } from 'commander'
import { checkCommand } from './rules/check.ts'
import { diffCommand } from './rules/diff.ts'

export const rulesCommand = new Command('rules')
  .description('check the rule table, and say what a change to it means')
  .addCommand(checkCommand)
  .addCommand(diffCommand)
