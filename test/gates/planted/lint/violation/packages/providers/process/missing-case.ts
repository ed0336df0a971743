type Phase = 'Ready' | 'Failed';

export const sentence = (phase: Phase): string => {
  switch (phase) {
    case 'Ready':
      return 'It answers.';
  }
  return '';
};
