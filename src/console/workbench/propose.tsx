import { useState } from 'preact/hooks'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { saveFile } from '../download.tsx'

interface ProposeProps {
  readonly start: WorkbenchStart
  /** The files that differ from those in force. */
  readonly changed: readonly { readonly name: string; readonly csv: string }[]
  /** The changes as Markdown. */
  readonly proposal: string
  /** Why it is too early; null if it is not. */
  readonly obstacle: string | null
}

/** The way from a draft to a pull request: the changed files, a text for it, one link. */
export function Propose({ start: { proposeUrl }, changed, proposal, obstacle }: ProposeProps) {
  const [said, setSaid] = useState('')
  if (changed.length === 0) return <p class="faint">Nothing is changed yet.</p>
  const names = changed.map(({ name }) => name).join(' and ')
  const download = () => {
    if (obstacle === null) for (const { name, csv } of changed) saveFile(name, [csv])
  }
  const copy = () =>
    navigator.clipboard.writeText(proposal).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser did not allow copying: select the text.'),
    )
  return (
    <>
      {obstacle !== null && <p class="notice">{obstacle}</p>}
      <p class="toolbar propose">
        <button type="button" aria-disabled={obstacle !== null} onClick={download}>
          Download {names}
        </button>
        <button type="button" class="outline" onClick={copy}>
          Copy the text
        </button>
        {proposeUrl !== null && (
          <a class="button outline" href={proposeUrl} target="_blank" rel="noopener noreferrer">
            Upload to the repository
          </a>
        )}
        <span role="status" class="faint">
          {said}
        </span>
      </p>
      <label>
        Text for the pull request
        <textarea rows={10} readOnly value={proposal} />
      </label>
    </>
  )
}
