/** The tree of a template, as Go's text/template has it, less what is not supported here. */
export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "action";
      readonly line: number;
      readonly set: string | undefined;
      readonly declare: boolean;
      readonly pipe: Pipe;
    }
  | {
      readonly kind: "if" | "with";
      readonly line: number;
      readonly set: string | undefined;
      readonly pipe: Pipe;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    }
  | {
      readonly kind: "range";
      readonly line: number;
      readonly key: string | undefined;
      readonly value: string | undefined;
      readonly pipe: Pipe;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    };

/** Commands joined by `|`: each gets the value of the one before as its last argument. */
export type Pipe = readonly Command[];

/** A function with arguments, or one operand alone. */
export interface Command {
  readonly name: string | undefined;
  readonly args: readonly Operand[];
}

export type Operand =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  | { readonly kind: "field"; readonly from: string; readonly path: readonly string[] }
  | { readonly kind: "pipe"; readonly pipe: Pipe; readonly path: readonly string[] };

/** A template that is wrong, or asks for what is not supported. */
export class TemplateError extends Error {
  readonly code = "ERR_OUTRIDER_TASK_TEMPLATE";
  /** The line in the template's text; 0: not known. */
  readonly line: number;
  /** The message without the line. */
  readonly detail: string;

  constructor(detail: string, line: number) {
    super(line === 0 ? `template: ${detail}` : `template line ${line}: ${detail}`);
    this.line = line;
    this.detail = detail;
  }
}
