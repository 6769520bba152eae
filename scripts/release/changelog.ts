const UNRELEASED = "## Unreleased";
const NOTHING = "Nothing yet.";

/** A section of the changelog: the changes of one version, or the unreleased ones. */
interface Section {
  readonly heading: string;
  readonly body: string;
}

/**
 * The changelog with its unreleased changes turned into a dated section for a version.
 *
 * If that version's section was prepared before but never tagged, it gets the new date.
 *
 * @param text the changelog, in the format of Keep a Changelog
 * @param version such as `0.2.0`
 * @param date such as `2026-11-25`
 * @throws an `Error` that says what is missing
 */
export function releasedChangelog(text: string, version: string, date: string): string {
  const { head, sections } = parse(text);
  const unreleased = sections.find(({ heading }) => heading === UNRELEASED);
  if (unreleased === undefined)
    throw new Error(`CHANGELOG.md has no section "${UNRELEASED}". Add it above the others.`);
  const isEmpty = ["", NOTHING].includes(unreleased.body);
  const title = `## ${version}`;
  const prepared = sections.find(({ heading }) => heading.startsWith(`${title} `));
  if (prepared !== undefined && !isEmpty) {
    throw new Error(
      `CHANGELOG.md has entries under "${UNRELEASED}" and a section ${version}. Move the entries into it.`,
    );
  }
  if (prepared === undefined && isEmpty) {
    throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}", so there is nothing to release.`);
  }
  const current = { heading: `${title} - ${date}`, body: (prepared ?? unreleased).body };
  const others = sections.filter((section) => section !== unreleased && section !== prepared);
  return [head, ...[{ heading: UNRELEASED, body: NOTHING }, current, ...others].map(written)].join("\n\n").concat("\n");
}

/** A version's changes, for its release notes; `null` if the changelog doesn't list the version. */
export function sectionOf(text: string, version: string): string | null {
  return parse(text).sections.find(({ heading }) => heading.startsWith(`## ${version} - `))?.body ?? null;
}

function parse(text: string): { readonly head: string; readonly sections: readonly Section[] } {
  const [head = "", ...rest] = text.trim().split(/\n(?=## )/);
  const sections = rest.map((section) => {
    const [heading = "", ...lines] = section.split("\n");
    return { heading: heading.trim(), body: lines.join("\n").trim() };
  });
  return { head: head.trim(), sections };
}

function written({ heading, body }: Section): string {
  return `${heading}\n\n${body}`;
}
