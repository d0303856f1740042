import { Command } from 'commander'
import { checkCommand } from './templates/check.ts'
import { previewCommand } from './templates/preview.ts'

export const templatesCommand = new Command('templates')
  .description('check and preview the texts of messages')
  .addHelpText('after', '\nExample:\n  $ notifications-service templates check')
  .addCommand(checkCommand)
  .addCommand(previewCommand)
