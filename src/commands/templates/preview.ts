import { Command, Option } from 'commander'
import { sha256 } from '../../app/rule-files.ts'
import type { TemplateFile } from '../../core/templates/compile.ts'
import { diffPreviews, type Preview, previewTexts } from '../../core/templates/preview.ts'
import { previewChangesToHtml, previewsToHtml } from '../../core/templates/preview-html.ts'
import { previewChangesToMarkdown, previewsToMarkdown } from '../../core/templates/preview-markdown.ts'
import { readTemplates } from '../../core/templates/read-templates.ts'
import { fileOption } from '../terminal/options.ts'
import { TEMPLATES, templateFilesAgainst, templateFilesOf } from '../terminal/template-folder.ts'

export const previewCommand = new Command('preview')
  .description('print all texts with sample values as one page')
  .addOption(fileOption('--templates <folder>', 'the templates', TEMPLATES))
  .option('--against <git revision or folder>', 'print only the texts that differ, before and after')
  .addOption(new Option('--html', 'as a page of HTML instead of Markdown').conflicts('json'))
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    `
Exit codes: 0 printed, 1 a template has faults or cannot be read, 2 wrong usage.

Examples:
  $ notifications-service templates preview --html > texts.html
  $ notifications-service templates preview --against main`,
  )
  .action(preview)

interface Options {
  readonly templates: string
  readonly against?: string
  readonly html?: true
  readonly json?: true
}

async function preview({ templates, against, html, json }: Options): Promise<void> {
  const after = previewsOf(templateFilesOf(templates))
  if (against === undefined) {
    const page = html ? previewsToHtml : previewsToMarkdown
    process.stdout.write(json ? `${JSON.stringify(after)}\n` : page(after))
    return
  }
  const changes = diffPreviews(previewsOf(await templateFilesAgainst(against, templates)), after)
  const markdown = () => previewChangesToMarkdown(changes) || 'No text changes.\n'
  const page = html ? previewChangesToHtml(changes) : markdown()
  process.stdout.write(json ? `${JSON.stringify(changes)}\n` : page)
}

function previewsOf(files: readonly TemplateFile[]): Preview[] {
  return previewTexts(readTemplates(files, { sha256 }))
}
