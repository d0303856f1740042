import { useState } from 'preact/hooks'
import { proposalOf } from '../../core/workbench/review.ts'
import { proposeUrlOf } from '../../core/workbench/workbench.ts'
import { saveFile } from '../download.tsx'
import type { changedFiles } from './draft.ts'
import type { Verdict } from './judge.ts'

interface ProposeProps {
  readonly repositoryUrl: string | null
  readonly changed: ReturnType<typeof changedFiles>
  readonly of: Verdict
  /** Why it is too early; null if it is not. */
  readonly obstacle: string | null
}

/** The way from a draft to a pull request: the changed files, a text for it, one link. */
export function Propose({ repositoryUrl, changed, of, obstacle }: ProposeProps) {
  const [said, setSaid] = useState('')
  if (changed.length === 0) return <p class="faint">Nothing is changed yet.</p>
  const proposal = proposalOf(of.summary)
  const nameOf = (path: string) => path.split('/').at(-1) ?? ''
  const names = changed.map(({ path }) => nameOf(path)).join(' and ')
  const download = () => {
    if (obstacle === null) for (const { path, text } of changed) saveFile(nameOf(path), [text])
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
        {repositoryUrl !== null && (
          <a
            class="button outline"
            href={proposeUrlOf(repositoryUrl, 'rules')}
            target="_blank"
            rel="noopener noreferrer"
          >
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
