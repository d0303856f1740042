import { Command } from 'commander'
import { checkCommand } from './templates/check.ts'

export const templatesCommand = new Command('templates')
  .description('check the texts of messages')
  .addHelpText('after', '\nExample:\n  $ notifications-service templates check')
  .addCommand(checkCommand)
