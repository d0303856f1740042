import { strToU8, zipSync } from 'fflate'
import { buildProposeUrl, formatProposal } from '../../../authoring/diff/review.ts'
import { saveFile } from '../download.tsx'
import { Copy } from '../parts.tsx'
import { ACCEPTED, type Bench, changedFiles, type Verdict } from './draft.ts'
import { listMarks } from './findings.tsx'

interface ProposeProps extends Bench {
  readonly repositoryUrl: string | null
  readonly verdict: Verdict
}

/** Turns a draft into a pull request: the changed files, a text for it, one link. */
export function Propose({ repositoryUrl, verdict, draft, inForce, columns, outdated }: ProposeProps) {
  const bad = listMarks(verdict).flatMap(([tone, , words]) => (tone === 'danger' ? [words] : []))
  // A table with faults must not be accepted.
  const changed = changedFiles(verdict, { inForce, columns }).filter(
    ([path]) => bad.length === 0 || path !== ACCEPTED,
  )
  const isOld = verdict.draft === draft ? null : 'Your last change is being checked.'
  const obstacle =
    outdated === null
      ? isOld
      : 'Others have changed the files in force: first keep or drop your draft, above.'
  if (changed.length === 0) return <p class="text-light">Nothing is changed yet.</p>
  const isAccepted = changed.some(([path]) => path === ACCEPTED)
  // Outcomes among the files need no further acceptance.
  const outcomes = isAccepted || bad.length > 0 ? null : verdict.summary.outcomes
  const proposal = formatProposal({ ...verdict.summary, outcomes })
  const [[path, text] = ['', ''], ...rest] = changed
  const isOne = rest.length === 0
  const [folder = '', file = ''] = isOne ? path.split('/') : ['', 'proposal.zip']
  const download = () => {
    if (obstacle !== null) return
    if (isOne) return saveFile(file, [text])
    const entries = changed.map(([path, text]) => [path, strToU8(text)])
    saveFile(file, [zipSync(Object.fromEntries(entries)) as BlobPart], 'application/zip')
  }
  return (
    <>
      {obstacle !== null && <p class="notice">{obstacle}</p>}
      {bad.length > 0 && (
        <p class="notice notice-bad">{bad.join(', ')}. The checks of the pull request will fail.</p>
      )}
      <ol>
        <li>
          Download {isOne ? 'the file that you changed' : `${changed.length} files, packed as one`}:{' '}
          {changed.map(([path]) => path).join(', ')}.
        </li>
        <li>
          {isOne
            ? 'Upload it to the repository, on a branch of its own.'
            : 'Unpack it, and drop its folders onto the upload page of the repository, on a branch of its own.'}
        </li>
        <li>Copy the text into the pull request.</li>
        <li>
          {isAccepted
            ? `Nothing more to accept: ${ACCEPTED}, which lists every outcome and text, is among the files. Reviewers see there what changes.`
            : bad.length > 0
              ? 'First correct the faults above: then the new list of outcomes, which the checks require, is among the files.'
              : 'Nothing more to accept: every outcome and text stays as it is.'}
        </li>
      </ol>
      <p class="hstack propose">
        <button type="button" aria-disabled={obstacle !== null} onClick={download}>
          Download {file}
        </button>
        <Copy text={proposal} label="Copy the text" />
        {repositoryUrl !== null && (
          <a
            class="button outline"
            href={buildProposeUrl(repositoryUrl, folder)}
            target="_blank"
            rel="noopener noreferrer"
          >
            Upload to the repository
          </a>
        )}
      </p>
      <label>
        Text for the pull request
        <textarea rows={10} readOnly value={proposal} />
      </label>
    </>
  )
}
