/** Where reviewed files live: what a change is proposed against. */
const BRANCH = 'main'

/**
 * The page of a forge on which somebody can edit a file of a repository and propose the change: by GitLab's paths where
 * the host's name says so, else by GitHub's.
 */
export function editUrlOf(repositoryUrl: string, file: string): string {
  const isGitLab = new URL(repositoryUrl).hostname.split('.').includes('gitlab')
  const repository = repositoryUrl.replace(/\.git$/, '')
  return `${repository}/${isGitLab ? '-/edit' : 'edit'}/${BRANCH}/${file}`
}
