import type { Preview, PreviewChange, PreviewedText } from './preview.ts'
import { captionOf } from './preview-markdown.ts'

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
pre { white-space: pre-wrap; border: 1px solid #999; border-radius: 4px; padding: 0.75rem; font: inherit }
figure { margin: 0 0 1rem }
figcaption { color: #555 }
.both { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }`

/** One self-contained page with all texts: it loads and runs nothing. */
export function previewsToHtml(previews: readonly Preview[]): string {
  return page(
    previews.map(({ eventType, texts }) => `<h2>${inHtml(eventType)}</h2>\n${texts.map(figure).join('\n')}`),
  )
}

export function previewChangesToHtml(changes: readonly PreviewChange[]): string {
  const side = (title: string, preview: Preview | null) =>
    `<div><h3>${title}</h3>\n${preview?.texts.map(figure).join('\n') ?? '<p>The generic text.</p>'}</div>`
  return page(
    changes.length === 0
      ? ['<p>No text changes.</p>']
      : changes.map(
          ({ eventType, before, after }) =>
            `<h2>${inHtml(eventType)}</h2>\n<div class="both">${side('Before', before)}${side('After', after)}</div>`,
        ),
  )
}

function page(sections: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>What messages say</title>
<style>
${STYLE}
</style>
<h1>What messages say</h1>
<p>With sample values.</p>
${sections.join('\n')}
</html>
`
}

function figure(text: PreviewedText): string {
  return `<figure><figcaption>${inHtml(captionOf(text))}</figcaption>\n<pre>${inHtml(`Subject: ${text.subject}\n\n${text.body}`)}</pre></figure>`
}

function inHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
