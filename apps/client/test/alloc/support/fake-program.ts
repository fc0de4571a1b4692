/** What a small shell script does, as far as the recorded jobs need it: when it ends, how, and which signals it minds. */
export interface FakeProgram {
  /** Ms until it ends by itself; undefined: never. */
  readonly endsAfterMs: number | undefined;
  readonly exitCode: number;
  readonly signal: number;
  readonly ignoresInterrupt: boolean;
  readonly handles: readonly string[];
}

export function fakeProgram(args: readonly string[]): FakeProgram {
  const script = args.at(-1) ?? "";
  let ms: number | undefined = 0;
  let exitCode = 0;
  let signal = 0;
  let ignoresInterrupt = false;
  const handles: string[] = [];
  for (const step of script.split(";").map((part) => part.trim())) {
    const sleeps = /^(?:exec )?sleep ([\d.]+)$/.exec(step);
    if (step.startsWith("while true")) ms = undefined;
    else if (sleeps !== null && ms !== undefined) ms += Number(sleeps[1]) * 1000;
    else if (/^exit (\d+)$/.test(step)) exitCode = Number(step.slice(5));
    else if (step.startsWith("kill -9 ")) [exitCode, signal] = [137, 9];
    else if (step.startsWith("trap '' ")) ignoresInterrupt = true;
    else if (step.startsWith("trap 'echo usr' USR1")) handles.push("SIGUSR1");
  }
  return { endsAfterMs: ms, exitCode, signal, ignoresInterrupt, handles };
}
