#!/usr/bin/env bash
# The writing part of the workflow "accept rules": PR=<number> bash src/build/accept-outcomes.sh
# It runs on the default branch, takes one file that the unprivileged checks of the pull request made, and commits it onto the
# branch by git objects alone: nothing of the branch is checked out or run.
set -euo pipefail
outcomes=rules/outcomes.txt
workflow=pull-request.yml
made=.cache/accepted

fail() {
  echo "::error::$1" >&2
  exit 1
}

[[ ${PR:-} =~ ^[0-9]+$ ]] || fail 'name the pull request by its number: PR=12'
view=$(gh pr view "$PR" --json state,isCrossRepository,headRefOid,author,baseRefName,headRefName \
  --jq '"\(.state) \(.isCrossRepository) \(.headRefOid) \(.author.login) \(.baseRefName) \(.headRefName)"' 2>&1) || case $view in
*'Could not resolve to a PullRequest'*) fail "there is no pull request $PR in this repository" ;;
*) fail "pull request $PR cannot be read: $view" ;;
esac
read -r state fork head author base branch <<<"$view"
[ "$state" = OPEN ] || fail "pull request $PR is not open"
[ "$author" != "${GITHUB_ACTOR:-}" ] || fail "you opened pull request $PR: let somebody else accept its outcomes, by this workflow"
[ "$fork" = false ] || fail "pull request $PR comes from a fork, where this workflow may not write. Its author can accept the \
outcomes: download the artifact \"outcomes\" from the checks of the pull request, and upload it to the branch as $outcomes"

run=$(gh run list --workflow "$workflow" --commit "$head" --limit 1 --json databaseId --jq '.[].databaseId')
[ -n "$run" ] || fail "no checks ran for the newest commit of pull request $PR: wait for them, then start this workflow again"
rm -rf "$made"
gh run download "$run" --name outcomes --dir "$made" ||
  fail "the checks of pull request $PR have made no outcomes: wait for them, and correct the faults that they name"

file=$made/outcomes.txt
if [ ! -f "$file" ] || [ -L "$file" ] || [ "$(stat -c %s "$file")" -gt 1000000 ] ||
  ! head -n 1 "$file" | grep -q '^# What the rule table decides'; then
  fail 'the artifact "outcomes" does not hold a list of outcomes'
fi

export GIT_AUTHOR_NAME='github-actions[bot]' GIT_AUTHOR_EMAIL='41898282+github-actions[bot]@users.noreply.github.com'
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL GIT_INDEX_FILE=$PWD/.cache/accepted.index
rm -f "$GIT_INDEX_FILE"
git fetch --quiet --depth=1 origin "$head"
# Without checks of the new commit nobody could merge it.
active=$(gh workflow list --json path,state --jq ".[] | select(.path == \".github/workflows/$workflow\") | .state")
[ "$active" = active ] || fail "the checks ($workflow) are switched off, and could not start: nothing was pushed"
git show "$head:.github/workflows/$workflow" | grep -q '^ *workflow_dispatch:' ||
  fail "on the branch of pull request $PR the checks cannot be started by hand: bring it up to date with $base; nothing was pushed"
git read-tree "$head"
blob=$(git hash-object -w --no-filters "$file")
git update-index --add --cacheinfo "100644,$blob,$outcomes"
tree=$(git write-tree)
if git diff --quiet "$head" "$tree"; then
  echo 'These outcomes are accepted already.'
  exit
fi
commit=$(git commit-tree -p "$head" -m 'Accept the outcomes of the changed rule table' "$tree")
# Refused if the branch has moved on: the outcomes are those of this commit and no other.
git push --quiet --force-with-lease="refs/heads/$branch:$head" origin "$commit:refs/heads/$branch"

# A push made with a workflow's token starts no checks; a dispatch does.
gh workflow run "$workflow" --ref "$branch" --raw-field base="$base" ||
  fail "the outcomes of pull request $PR are accepted, but its checks did not start: start the workflow \"pull request\" on the branch $branch"
echo "Accepted the outcomes of pull request $PR; its checks run on the new commit."
